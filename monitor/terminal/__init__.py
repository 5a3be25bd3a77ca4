"""How a command speaks, shows progress, fails and leaves."""
