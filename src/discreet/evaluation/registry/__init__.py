"""Every public mechanism, with the inputs on which it is audited."""
