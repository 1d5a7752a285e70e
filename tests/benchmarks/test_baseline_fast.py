"""The yardstick of FAST decodes what ours decodes, so that both do the same work."""

from pregao.codecs.fast import FastMessageDecoder, Scaled, parse_templates
from tests.benchmarks import baseline_fast
from tests.benchmarks.fast import messages
from tests.benchmarks.fast_templates import INCREMENTAL


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return tuple(ours) == theirs if isinstance(ours, Scaled) else ours == theirs


def test_the_baseline_decodes_the_same() -> None:
    decoder, baseline = FastMessageDecoder(parse_templates(INCREMENTAL)), baseline_fast.Decoder(INCREMENTAL)
    for raw in messages(300):
        message = decoder.decode(raw)
        name, fields = baseline.decode(raw)
        assert name == message.name
        assert same(message.fields, fields)
