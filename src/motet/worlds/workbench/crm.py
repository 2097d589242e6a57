"""Customers: who looks after them, how to reach them, what they want, and how far it has come."""

from __future__ import annotations

from motet.worlds.workbench.patterns import searcher
from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Cell, State
from motet.worlds.workbench.values import Given, lower, next_id, text

SHOWN = 5  # how many customers a search shows

_STATUSES = ("Qualified", "Won", "Lost", "Lead", "Proposal")
_PRODUCTS = ("Software", "Hardware", "Services", "Consulting", "Training")


def search_customers(
    state: State,
    /,
    customer_name: Given = None,
    customer_email: Given = None,
    product_interest: Given = None,
    status: Given = None,
    assigned_to_email: Given = None,
    last_contact_date_min: Given = None,
    last_contact_date_max: Given = None,
    follow_up_by_min: Given = None,
    follow_up_by_max: Given = None,
) -> Output:
    """The first customers that hold every given text in its field, with dates, compared as text, between the bounds."""
    patterns = {
        "customer_name": customer_name,
        "customer_email": customer_email,
        "product_interest": product_interest,
        "status": status,
        "assigned_to_email": assigned_to_email,
    }
    bounds = {
        "last_contact_date": (last_contact_date_min, last_contact_date_max),
        "follow_up_by": (follow_up_by_min, follow_up_by_max),
    }
    if not any(patterns.values()) and not any(bound for pair in bounds.values() for bound in pair):
        return "No search parameters provided. Please provide at least one parameter."
    found = state.crm
    for column, pattern in patterns.items():
        if pattern:
            holds = searcher(pattern, ignore_case=True)
            found = found.where(column, lambda cell, holds=holds: isinstance(cell, str) and holds(cell))  # type: ignore[misc]
    for column, (earliest, latest) in bounds.items():
        if earliest:
            first = text(earliest)
            found = found.where(column, lambda cell, first=first: isinstance(cell, str) and cell >= first)  # type: ignore[misc]
        if latest:
            last = text(latest)
            found = found.where(column, lambda cell, last=last: isinstance(cell, str) and cell <= last)  # type: ignore[misc]
    return [found.record(row) for row in found.rows[:SHOWN]]


def update_customer(state: State, /, customer_id: Given = None, field: Given = None, new_value: Given = None) -> Output:
    """Change one field of a customer."""
    if not customer_id or not field or not new_value:
        return "Customer ID, field, or new value not provided."
    if field == "status" and new_value not in _STATUSES:
        return "Status not valid. Please choose from: 'Qualified', 'Won', 'Lost', 'Lead', 'Proposal'"
    if field == "product_interest" and new_value not in _PRODUCTS:
        return "Product interest not valid. Please choose from: 'Software', 'Hardware', 'Services', 'Consulting', 'Training'"
    new = lower(new_value) if field in ("customer_email", "assigned_to_email") else new_value
    if customer_id not in state.crm.column("customer_id"):
        return "Customer not found."
    if field not in state.crm.columns:
        return (
            "Field not valid. Please choose from: 'customer_name', 'assigned_to_email', 'customer_email', 'customer_phone', "
            "'last_contact_date', 'product_interest', 'status', 'notes', 'follow_up_by'"
        )
    state.crm = state.crm.set("customer_id", customer_id, field=text(field), new=new)
    return "Customer updated successfully."


def add_customer(
    state: State,
    /,
    customer_name: Given = None,
    assigned_to_email: Given = None,
    status: Given = None,
    customer_email: Given = None,
    customer_phone: Given = None,
    last_contact_date: Given = None,
    product_interest: Given = None,
    notes: Given = "",
    follow_up_by: Given = None,
) -> Output:
    """Add a customer; the id is returned. Status and product are not checked. All labels are counted anew."""
    if not customer_name or not assigned_to_email or not status:
        return "Please provide all required fields: customer_name, assigned_to_email, status."
    customer_id = next_id(state.crm.column("customer_id"), width=8)
    customer: dict[str, Cell] = {
        "customer_id": customer_id,
        "assigned_to_email": lower(assigned_to_email),
        "customer_name": customer_name,
        "customer_email": lower(customer_email) if customer_email else customer_email,
        "customer_phone": customer_phone,
        "last_contact_date": last_contact_date,
        "product_interest": product_interest,
        "status": status,
        "follow_up_by": follow_up_by,
        "notes": notes,
    }
    state.crm = state.crm.append(customer, label=0).relabelled()
    return customer_id


def delete_customer(state: State, /, customer_id: Given = None) -> Output:
    """Delete a customer."""
    if not customer_id:
        return "Customer ID not provided."
    if customer_id not in state.crm.column("customer_id"):
        return "Customer not found."
    state.crm = state.crm.without("customer_id", customer_id)
    return "Customer deleted successfully."
