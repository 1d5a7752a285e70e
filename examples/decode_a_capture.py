"""Read a capture one message at a time: how many of each kind it has, and the fields of the first trade.

Fields have the names of B3's schema. What cannot be read is a `Finding` that says where the fault is.
"""

from collections import Counter

from pregao import DecodedMessage, decode_capture

CAPTURE = "build/sample/084_Incremental_FeedA.pcap"

kinds: Counter[str | None] = Counter()
findings = []
for item in decode_capture(CAPTURE):
    if not isinstance(item, DecodedMessage):
        findings.append(item)
        continue
    kinds[item.message.name] += 1
    if item.message.name == "Trade_53" and kinds["Trade_53"] == 1:
        print("the first trade, in packet", item.packet)
        for name in ("securityID", "mDEntryPx", "mDEntrySize", "tradeID", "tradeDate"):
            print(f"  {name:<12} {item.message.fields[name]}")

print(sum(kinds.values()), "messages,", len(findings), "findings; the most frequent:")
for name, count in kinds.most_common(5):
    print(f"  {count:>6,} {name}")
