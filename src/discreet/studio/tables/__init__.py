"""What is opened: the heads of tables, files that come through the browser, folders to choose from."""
