"""The run store: schema, one writer, readers, migrations, check, prune and export. Import from its modules; this package stays light."""
