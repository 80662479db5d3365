"""One function per command: `gm.X(...)` and `graphmae X` do the same."""
