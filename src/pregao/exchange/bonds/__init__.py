"""Fixed income as B3 trades it on Trademate: prices from rates, the catalogue, and the market."""
