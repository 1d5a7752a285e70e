"""Charts as inline SVG. Colours come from the page's style sheet by class, so light and dark need nothing
here; every chart has a title, and its numbers stand in a table below it."""
