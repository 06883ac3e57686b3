"""Letters to members."""

from .fines import days_late, format_cents


def overdue_notice(loan, today):
    days = days_late(loan.due, today)
    return f"Dear {loan.member}, {loan.item} is {days} days late."


def receipt(member, lines):
    """A receipt of ``(item, cents)`` with the sum below."""
    out = [f"Receipt for {member}", ""]
    for item, cents in lines:
        out.append(f"{item:<20}{format_cents(cents):>12}")
    out.append("-" * 32)
    out.append(f"{'Total':<20}{format_cents(sum(cents for _, cents in lines)):>12}")
    return "\n".join(out) + "\n"
