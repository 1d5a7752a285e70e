"""A fifth system, for tests: text lines over UDP. It lives on `feeds.port` alone, and shows how to write one.

A packet is a header line and messages, a line each. Each *message* has a number of its own, counted from the
header's, so a packet holds several units. Its words:

    TOY <channel> <epoch> <number of the first message> <sent ns>
    D <id> <symbol> <how many in the loop>         an instrument; of a bond also the exponents of its
                                                   prices and sizes, and what its prices are
    O <id> <report> <side> <order> <price> <size>  an order enters
    X <id> <report> <side> <order> <price>         an order leaves
    T <id> <report> <trade> <price> <size>         a trade; of bonds also its sub-type, by name
    H <id> <report> <price>                        the highest price
    V <id> <report> <average> <volume> <trades>    what was traded so far
    G <id> <report> <low> <high>                   a band
    S <id> <number> <epoch> <of how many> <report> <bids> <offers>   a snapshot begins
    s <id> <side> <order> <price> <size>           an order of it
    R                                              the loop, or the sequence, ends
    B <next>                                       a heartbeat, alone in a packet of number 0
"""
