"""Order books, statistics and phases, from what the feeds tell: plain (`reference`, `statistics`,
`phases`) and by kernel (`store`). `book.Book` is what people look at."""
