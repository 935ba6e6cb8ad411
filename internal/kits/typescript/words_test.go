package typescript

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// words gives the string constants of a type, or those that are declared together with a constant, in the order of the
// source. of names the type or the constant: "nearfar/internal/conclude/answer/figures.Higher".
func words(root, of string) ([]string, error) {
	folder, base := path.Split(of)
	pkg, name, _ := strings.Cut(base, ".")
	_, folder, _ = strings.Cut(folder+pkg, "/")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if group, ok := d.(*ast.GenDecl); ok && group.Tok == token.CONST {
				all = append(all, wordsOf(group, name)...)
			}
		}
	}
	return all, nil
}

// wordsOf gives the words of one group of constants.
func wordsOf(group *ast.GenDecl, name string) []string {
	together := slices.ContainsFunc(group.Specs, func(s ast.Spec) bool {
		return s.(*ast.ValueSpec).Names[0].Name == name
	})
	var all []string
	for _, s := range group.Specs {
		spec := s.(*ast.ValueSpec)
		if typed, ok := spec.Type.(*ast.Ident); !together && (!ok || typed.Name != name) {
			continue
		}
		for _, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				word, _ := strconv.Unquote(literal.Value) // the parser has read it
				all = append(all, word)
			}
		}
	}
	return all
}

// union declares a type of several words.
func union(name string, words []string) string {
	var b strings.Builder
	b.WriteString("export type " + name + " =")
	for _, word := range words {
		b.WriteString("\n  | " + strconv.Quote(word))
	}
	return b.String() + ";\n"
}
