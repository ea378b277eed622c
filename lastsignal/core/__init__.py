"""The pure core: no file, socket, clock, log or async; time is an argument."""
