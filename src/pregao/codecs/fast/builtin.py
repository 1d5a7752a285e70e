"""The templates of UMDF FIX/FAST that this package carries."""

from functools import cache
from importlib import resources

from pregao.codecs.fast.reader import parse_templates
from pregao.codecs.fast.templates import Templates

BUILTIN_TEMPLATES = "umdf-fix-fast.xml"


@cache
def load_builtin_templates() -> Templates:
    """Our own arrangement of B3's templates, read once a process."""
    text = resources.files("pregao.codecs.schemas").joinpath(BUILTIN_TEMPLATES).read_bytes()
    return parse_templates(text, BUILTIN_TEMPLATES)
