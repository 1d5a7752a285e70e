"""Books by kernel: `rows` is the way in, `updates` and `by_level` keep sides of orders and of levels;
`arena` and `ladder` are the memory below."""
