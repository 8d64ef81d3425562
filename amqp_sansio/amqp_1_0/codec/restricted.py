"""The primitive types of restricted ones, and the composite types that a field may require."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from ..._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

SOURCES: Final = {
    "delivery-number": "uint",
    "delivery-tag": "binary",
    "distribution-mode": "symbol",
    "error-condition": "symbol",
    "error-info": "map",
    "fields": "map",
    "filter-set": "map",
    "handle": "uint",
    "ietf-language-tag": "symbol",
    "message-format": "uint",
    "milliseconds": "uint",
    "node-properties": "map",
    "outcome-symbol": "symbol",
    "receiver-settle-mode": "ubyte",
    "role": "boolean",
    "sasl-code": "ubyte",
    "seconds": "uint",
    "sender-settle-mode": "ubyte",
    "sequence-no": "uint",
    "state-annotations": "map",
    "terminus-durability": "uint",
    "terminus-expiry-policy": "symbol",
    "transfer-number": "uint",
    "txn-capability": "symbol",
    "unsettled": "map",
}
"""The primitive type of each restricted one."""

PROVIDERS: Final = {
    "error": ("error",),
    "source": ("source",),
    "target": ("target", "coordinator"),
    "outcome": ("accepted", "rejected", "released", "modified", "declared"),
    "delivery-state": ("received", "accepted", "rejected", "released", "modified", "declared", "transactional-state"),
}
"""The composite types that meet a requirement of a field; types of others may, too."""
