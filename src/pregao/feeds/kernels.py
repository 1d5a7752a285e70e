"""What the kernels of several systems do alike when they make rows of `model.rows`. All arguments are numbers
and addresses: see `pregao.kernels`."""

from pregao.kernels import inlined, store_16, store_32, store_64
from pregao.model import rows as r
from pregao.model.rows import NULL


@inlined
def blank_row(row, at, epoch, message, index):
    """A row that tells nothing yet."""
    for word in range(0, r.ROW_SIZE, 8):
        store_64(row, word, 0)
    for field in (r.SECURITY_ID, r.ID, r.PRICE, r.SIZE, r.OTHER, r.TIME, r.INSERTED, r.FINE, r.LOW, r.HIGH):
        store_64(row, field, NULL)
    store_16(row, r.INDEX, index)
    store_32(row, r.PACKET, message)
    store_64(row, r.AT, at)
    store_16(row, r.SEQUENCE_VERSION, epoch)
