// Go declares nanotime without a body only in a package that has an assembly file.
