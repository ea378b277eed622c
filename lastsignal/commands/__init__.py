"""The commands, one module each: read arguments, call the application, show what it says."""
