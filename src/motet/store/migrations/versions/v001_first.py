"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "motet_1"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "blobs",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("codec", sa.String(length=8), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_blobs"),
    )
    op.create_table(
        "records",
        sa.Column("namespace", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("body", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "key", name="pk_records"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("config", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("result", sa.String(length=64), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created", sa.Float(), nullable=False),
        sa.Column("updated", sa.Float(), nullable=False),
        sa.Column("elapsed", sa.Float(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("heartbeat", sa.Float(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("parent", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["parent"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index(
        "ix_runs_created",
        "runs",
        ["created"],
        unique=False,
        sqlite_where=sa.text("parent IS NULL"),
        postgresql_where=sa.text("parent IS NULL"),
    )
    op.create_index("ix_runs_parent", "runs", ["parent", "status"], unique=False)
    op.create_table(
        "calls",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=True),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("reply", sa.String(length=64), nullable=True),
        sa.Column("origin", sa.String(length=10), nullable=False),
        sa.Column("prompt", sa.Integer(), nullable=True),
        sa.Column("cached", sa.Integer(), nullable=True),
        sa.Column("completion", sa.Integer(), nullable=True),
        sa.Column("reasoning", sa.Integer(), nullable=True),
        sa.Column("latent_steps", sa.Integer(), nullable=False),
        sa.Column("money", sa.Float(), nullable=True),
        sa.Column("charged", sa.Integer(), nullable=False),
        sa.Column("charged_money", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lost", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("created", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_calls"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_calls_run_id", "calls", ["run_id"], unique=False)
    op.create_index(
        "ux_calls_place",
        "calls",
        ["run_id", "scope", "ordinal"],
        unique=True,
        sqlite_where=sa.text("superseded = 0"),
        postgresql_where=sa.text("NOT superseded"),
    )
    op.create_table(
        "events",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_events"),
    )
    op.create_table(
        "scores",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("scorer", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "task_id", "scorer", name="pk_scores"),
    )
    op.create_table(
        "tasks",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=True),
        sa.Column("body", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("result", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "task_id", name="pk_tasks"),
    )
