"""An object that is put only if there is none of its name: what an entry of a log needs in a store.

pyarrow's stores cannot do that. The `deltalake` library can, but lists all live files of a table before each
entry, so that a commit costs as much as the table is large; here it is one request. Settings are those of the
usual environment, as for pyarrow. Where that has no credentials (they may be in a profile, which `obstore`
does not read), and for other stores than S3, the library does it still.
"""

import os
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from pregao.extras import name_missing_extra

_S3: Final = ("s3", "s3a")
_CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)  # fmt: skip


def can_put(uri: str) -> bool:
    """Whether a place takes conditional puts from us."""
    return urlsplit(uri).scheme in _S3 and any(os.environ.get(name) for name in _CREDENTIALS)


def put_if_absent(uri: str, path: str, content: bytes, endpoint: str, region: str) -> bool:
    """`path` below the place. False: there is one already, which may be our own whose answer was lost."""
    with name_missing_extra():
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError
    try:
        obstore.put(_store(uri, endpoint, region), path, content, mode="create", use_multipart=False)
    except (AlreadyExistsError, PreconditionError):
        return False
    return True


@lru_cache(maxsize=4)
def _store(uri: str, endpoint: str, region: str) -> Any:
    """One for all logs of a place: it has the connections."""
    from obstore.store import S3Store

    split = urlsplit(uri)
    given: dict[str, Any] = {"prefix": split.path.strip("/") or None}
    if region:
        given["region"] = region
    if endpoint:
        given |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
    return S3Store(split.netloc, **given, client_options={"allow_http": endpoint.startswith("http://")})
