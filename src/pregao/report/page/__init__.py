"""The page: sections in the order in which one asks; its style and its few lines of script beside them."""
