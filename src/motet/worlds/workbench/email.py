"""The mailbox: e-mails received and sent, with a subject, a body and the time they were sent."""

from __future__ import annotations

from motet.worlds.workbench.moments import NOW, moment
from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Cell, State, Timestamp
from motet.worlds.workbench.values import Given, lower, next_id, text

SHOWN = 5  # how many e-mails a search shows


def get_email_information_by_id(state: State, /, email_id: Given = None, field: Given = None) -> Output:
    """One field of an e-mail."""
    if not email_id:
        return "Email ID not provided."
    if not field:
        return "Field not provided."
    email = state.email.first("email_id", email_id)
    if email is None:
        return "Email not found."
    return {text(field): email[text(field)]} if field in email else "Field not found."


def search_emails(state: State, /, query: Given = "", date_min: Given = None, date_max: Given = None) -> Output:
    """The newest e-mails that hold every word of ``query`` in subject, body or address, sent between the two dates.

    In the 2024 dialect an e-mail sent by a tool cannot be ordered among received ones: finding both raises TypeError.
    """
    words = lower(query).split()
    table = state.email
    subject, body, other = (table.columns.index(name) for name in ("subject", "body", "sender/recipient"))
    sent = table.columns.index("sent_datetime")
    found = [row for row in table.rows if _holds(f"{row[subject]} {row[body]} {row[other]}", words)]
    found.sort(key=lambda row: row[sent], reverse=True)  # type: ignore[arg-type,return-value]  # mixed types raise, as they should
    days = [(row, _moment(row[sent]).date()) for row in found]
    if date_min:
        first = moment(date_min).date()
        days = [(row, day) for row, day in days if day >= first]
    if date_max:
        last = moment(date_max).date()
        days = [(row, day) for row, day in days if day <= last]
    return [table.record(row) for row, _ in days[:SHOWN]] or "No emails found."


def send_email(state: State, /, recipient: Given = None, subject: Given = None, body: Given = None) -> Output:
    """Send an e-mail, now. It is written at the label that equals the number of e-mails, over whatever is there."""
    if not recipient or not subject or not body:
        return "Recipient, subject, or body not provided."
    if not _is_address(recipient):
        return "Invalid recipient email address."
    width = 0 if state.dialect == "2024" else 8
    email: dict[str, Cell] = {
        "email_id": next_id(state.email.column("email_id"), width=width),
        "inbox/outbox": "outbox",
        "sender/recipient": lower(recipient),
        "subject": subject,
        "sent_datetime": Timestamp(NOW) if state.dialect == "2024" else NOW,
        "body": body,
    }
    state.email = state.email.put(email, label=len(state.email))
    return "Email sent successfully."


def delete_email(state: State, /, email_id: Given = None) -> Output:
    """Delete an e-mail."""
    if not email_id:
        return "Email ID not provided."
    if email_id not in state.email.column("email_id"):
        return "Email not found."
    state.email = state.email.without("email_id", email_id)
    return "Email deleted successfully."


def forward_email(state: State, /, email_id: Given = None, recipient: Given = None) -> Output:
    """Send an e-mail on to someone else."""
    if not email_id or not recipient:
        return "Email ID or recipient not provided."
    email = state.email.first("email_id", email_id)
    if email is None:
        return "Email not found."
    if not _is_address(recipient):
        return "Invalid recipient email address."
    answer = send_email(state, lower(recipient), f"FW: {email['subject']}", _given(email["body"]))
    return "Email forwarded successfully." if answer == "Email sent successfully." else answer


def reply_email(state: State, /, email_id: Given = None, body: Given = None) -> Output:
    """Answer an e-mail, under the same subject."""
    if not email_id or not body:
        return "Email ID or body not provided."
    email = state.email.first("email_id", email_id)
    if email is None:
        return "Email not found."
    answer = send_email(state, _given(email["sender/recipient"]), _given(email["subject"]), body)
    return "Email replied successfully." if answer == "Email sent successfully." else answer


def _holds(searched: str, words: list[str]) -> bool:
    lowered = searched.lower()
    return all(word in lowered for word in words)


def _is_address(recipient: object) -> bool:
    return "@" in text(recipient) and "." in text(recipient)


def _given(cell: Cell) -> Given:
    assert not isinstance(cell, Timestamp)
    return cell


def _moment(cell: Cell):  # type: ignore[no-untyped-def]
    return moment(cell.text if isinstance(cell, Timestamp) else cell)
