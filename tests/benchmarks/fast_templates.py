"""The incremental template 145, flat. Frozen: the benchmark of FAST measures with it."""

INCREMENTAL = b"""<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
<template name="MDIncRefresh_145" id="145" dictionary="145">
<string name="ApplVerID" id="1128"><constant value="9"/></string>
<string name="MsgType" id="35"><constant value="X"/></string>
<uInt32 name="MsgSeqNum" id="34"/>
<uInt64 name="SendingTime" id="52"/>
<uInt32 name="TradeDate" id="75" presence="optional"/>
<sequence name="MDEntries">
  <length name="NoMDEntries" id="268"/>
  <uInt32 name="MDUpdateAction" id="279"><copy value="1"/></uInt32>
  <string name="MDEntryType" id="269"><copy value="0"/></string>
  <uInt32 name="SecurityIDSource" id="22"><constant value="8"/></uInt32>
  <string name="SecurityExchange" id="207"><constant value="BVMF"/></string>
  <uInt64 name="SecurityID" id="48"><copy/></uInt64>
  <uInt32 name="RptSeq" id="83"><increment/></uInt32>
  <string name="QuoteCondition" id="276" presence="optional"><default/></string>
  <decimal name="MDEntryPx" id="270" presence="optional">
    <exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
  <decimal name="MDEntryInterestRate" id="37014" presence="optional">
    <exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
  <uInt32 name="NumberOfOrders" id="346" presence="optional"><default/></uInt32>
  <string name="PriceType" id="423" presence="optional"/>
  <uInt32 name="MDEntryTime" id="273"><copy/></uInt32>
  <int64 name="MDEntrySize" id="271" presence="optional"><delta/></int64>
  <uInt32 name="MDEntryDate" id="272" presence="optional"><copy/></uInt32>
  <uInt32 name="MDInsertDate" id="37016" presence="optional"><copy/></uInt32>
  <uInt32 name="MDInsertTime" id="37017" presence="optional"><copy/></uInt32>
  <string name="MDStreamID" id="1500" presence="optional"><default/></string>
  <string name="Currency" id="15" presence="optional"><copy/></string>
  <decimal name="NetChgPrevDay" id="451" presence="optional">
    <exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
  <uInt32 name="SellerDays" id="287" presence="optional"><default/></uInt32>
  <uInt64 name="TradeVolume" id="1020" presence="optional"><delta/></uInt64>
  <string name="TickDirection" id="274" presence="optional"><default/></string>
  <string name="TradeCondition" id="277" presence="optional"/>
  <uInt32 name="TradingSessionID" id="336" presence="optional"/>
  <uInt32 name="OpenCloseSettlFlag" id="286" presence="optional"/>
  <string name="OrderID" id="37" presence="optional"><default/></string>
  <string name="TradeID" id="1003" presence="optional"><default/></string>
  <string name="MDEntryBuyer" id="288" presence="optional"><default/></string>
  <string name="MDEntrySeller" id="289" presence="optional"><default/></string>
  <uInt32 name="MDEntryPositionNo" id="290" presence="optional"><default/></uInt32>
  <uInt32 name="SettPriceType" id="731" presence="optional"/>
  <uInt32 name="LastTradeDate" id="9325" presence="optional"/>
  <uInt32 name="PriceAdjustmentMethod" id="37013" presence="optional"/>
  <string name="PriceBandType" id="6939" presence="optional"><default/></string>
  <uInt32 name="PriceLimitType" id="1306" presence="optional"><default/></uInt32>
  <decimal name="LowLimitPrice" id="1148" presence="optional">
    <exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
  <decimal name="HighLimitPrice" id="1149" presence="optional">
    <exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
  <decimal name="TradingReferencePrice" id="1150" presence="optional">
    <exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
  <uInt32 name="PriceBandMidpointPriceType" id="37008" presence="optional"/>
  <uInt64 name="AvgDailyTradedQty" id="37003" presence="optional"/>
  <uInt64 name="ExpireDate" id="432" presence="optional"/>
  <uInt64 name="EarlyTermination" id="37019" presence="optional"/>
  <uInt64 name="MaxTradeVol" id="1140" presence="optional"/>
  <sequence name="Underlyings" presence="optional">
    <length name="NoUnderlyings" id="711"/>
    <uInt64 name="UnderlyingSecurityID" id="309"><delta/></uInt64>
    <uInt32 name="UnderlyingSecurityIDSource" id="305"><constant value="8"/></uInt32>
    <string name="UnderlyingSecurityExchange" id="308"><constant value="BVMF"/></string>
    <decimal name="UnderlyingPx" id="810">
    <exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
    <uInt32 name="UnderlyingPxType" id="37018" presence="optional"/>
  </sequence>
  <uInt64 name="IndexSeq" id="37100" presence="optional"/>
</sequence>
</template>
</templates>
"""
