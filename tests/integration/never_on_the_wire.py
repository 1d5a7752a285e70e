"""Values of enums that a simulated day of wire version 16 cannot have, each with its reason. A value that
is not here must occur; one that is here must not."""

_CONSTANT = "fills constants of the messages, which have no bytes to count; orders have BID and OFFER"
_FIXED_INCOME = "fixed income trades on Trademate, not on Binary UMDF's channels of this catalogue"
_OTHER_LEGS = "no strategy of this exchange has such a leg"

_ENTRY_TYPES = """
TRADE INDEX_VALUE OPENING_PRICE CLOSING_PRICE SETTLEMENT_PRICE SESSION_HIGH_PRICE SESSION_LOW_PRICE
EXECUTION_STATISTICS IMBALANCE TRADE_VOLUME OPEN_INTEREST EMPTY_BOOK SECURITY_TRADING_STATE_PHASE PRICE_BAND
QUANTITY_BAND COMPOSITE_UNDERLYING_PRICE EXECUTION_SUMMARY VOLATILITY_PRICE TRADE_BUST
"""

NEVER: dict[str, str] = {
    "securityTradingStatus=UNKNOWN_OR_INVALID": "not among the states of 14.1",
    "tradingSessionSubID=UNKNOWN_OR_INVALID": "not among the phases of 14.2",
    "securityIDSource=ISIN": "instruments are known by the exchange's own ids (6.5.8)",
    "securityType=CORP": _FIXED_INCOME,
    "securityType=DTERM": "forwards of derivatives are not listed; the termo of shares is FORWARD",
    "securityType=INDEX": "an index is computed, not listed: Binary UMDF does not send its values",
    "securityType=OPTEXER": "options are not exercised: no simulated day is a maturity",
    "securityType=SECLOAN": "lending is another market with feeds of its own",
    "lotType=BLOCK_LOT": "blocks trade in the ordinary instruments (13.3.2)",
    "product=CORPORATE": _FIXED_INCOME,
    "product=GOVERNMENT": _FIXED_INCOME,
    "multiLegPriceMethod=REVERSED_NET_PRICE": "no strategy of this exchange is priced so",
    "multiLegPriceMethod=CONTRACT_WEIGHTED_AVERAGE_PRICE": "no strategy of this exchange is priced so",
    "multiLegPriceMethod=MULTIPLIED_PRICE": "no strategy of this exchange is priced so",
    "optPayoutType=CAPPED": "no longer listed: version 17 gives its number to another word",
    "legSecurityType=CORP": _FIXED_INCOME,
    "legSecurityType=DTERM": _OTHER_LEGS,
    "legSecurityType=FORWARD": _OTHER_LEGS,
    "legSecurityType=INDEX": _OTHER_LEGS,
    "legSecurityType=MLEG": "strategies are made of outrights (18)",
    "legSecurityType=OPTEXER": _OTHER_LEGS,
    "legSecurityType=SECLOAN": _OTHER_LEGS,
    "mDUpdateAction=DELETE_FROM": "sweeps by position are of versions below 15 (12.1.2)",
    "mDUpdateAction=OVERLAY": "in the enum, and used by no section of the guidelines",
    "openCloseSettlFlag=THEORETICAL_PRICE": "the constant of TheoreticalOpeningPrice (13.9.2)",
    "priceLimitType=TICKS": "used for no band (13.11.5)",
    **{f"mDEntryType={word}": _CONSTANT for word in _ENTRY_TYPES.split()},
}
