"""Adapters to the world: files, terminals, sockets. They import the core, never one another."""
