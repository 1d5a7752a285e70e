"""Books by kernel: `rows` is the way in; `arena` and `ladder` are the memory below."""
