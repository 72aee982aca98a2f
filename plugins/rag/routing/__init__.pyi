from .candidates import Candidates, Keywords, find_candidates
from .catalog import Catalog, Source, in_order_of, read_catalog, router_of
from .choosing import among, choose, first_retrieved, narrowed

__all__ = [
    "Candidates",
    "Catalog",
    "Keywords",
    "Source",
    "among",
    "choose",
    "find_candidates",
    "first_retrieved",
    "in_order_of",
    "narrowed",
    "read_catalog",
    "router_of",
]
