"""Sending messages, with another try after a temporary error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from .contacts import Contact
from .template import Template


class DeliveryError(Exception):
    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(f"{code} {text}".strip())
        self.code = code

    @property
    def permanent(self) -> bool:
        return 500 <= self.code < 600


class Transport(Protocol):
    def deliver(self, recipient: str, subject: str, body: str) -> None: ...


@dataclass
class Report:
    sent: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failed


class Outbox:
    def __init__(
        self,
        transport: Transport,
        attempts: int = 3,
        delay: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self.transport = transport
        self.attempts = attempts
        self.delay = delay
        self._sleep = sleep

    def send(self, recipient: str, subject: str, body: str) -> None:
        for attempt in range(1, self.attempts + 1):
            try:
                self.transport.deliver(recipient, subject, body)
                return
            except DeliveryError as error:
                if error.permanent or attempt == self.attempts:
                    raise
                self._sleep(self.delay * 2 ** (attempt - 1))

    def send_all(self, template: Template, contacts: Iterable[Contact], subject: str) -> Report:
        report = Report()
        for contact in contacts:
            body = template.render(contact.values)
            try:
                self.send(str(contact.address), subject, body)
            except DeliveryError as error:
                report.failed[contact.address.spec] = str(error)
            else:
                report.sent.append(contact.address.spec)
        return report
