// Makes the static site of the documentation. It is a module of its own, because nothing of nearfar needs a parser of
// Markdown.
module nearfar/docs/site

go 1.26.8

require github.com/yuin/goldmark v1.8.7
