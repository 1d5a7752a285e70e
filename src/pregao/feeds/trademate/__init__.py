"""Trademate, B3's fixed income platform: FIX 4.4 over TCP, books in yields, spreads and prices."""
