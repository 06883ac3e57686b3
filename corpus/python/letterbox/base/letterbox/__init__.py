"""Mail merge: contacts and a template in, messages out."""

from .address import Address, AddressError, parse_address
from .contacts import Contact, ContactList, load_contacts, read_contacts
from .outbox import DeliveryError, Outbox, Report
from .template import Template, TemplateError

__all__ = [
    "Address",
    "AddressError",
    "Contact",
    "ContactList",
    "DeliveryError",
    "Outbox",
    "Report",
    "Template",
    "TemplateError",
    "load_contacts",
    "parse_address",
    "read_contacts",
]
