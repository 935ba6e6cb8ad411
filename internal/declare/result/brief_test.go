package result

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAnswersReadOnlyBriefFacts: each fact of a trial that the packages of answers read is kept by Trial.Brief. It finds
// the names in their source: t.Facts["name"], constants of this package, and the last arguments of the few functions
// that take the name of a fact.
func TestAnswersReadOnlyBriefFacts(t *testing.T) {
	constants := map[string]string{}
	each(t, ".", func(_ string, n ast.Node) {
		if v, ok := n.(*ast.ValueSpec); ok {
			for i, name := range v.Names {
				if strings.HasPrefix(name.Name, "Fact") && i < len(v.Values) {
					constants[name.Name] = literal(v.Values[i])
				}
			}
		}
	})
	takesNames := map[string]int{"sidesOf": 2, "sharesOf": 1, "medianDuration": 1}
	read := map[string]string{}
	for _, folder := range []string{
		"answer", "answer/environment", "answer/figures", "answer/proof", "contrast", "forecast", "gate", "interim",
	} {
		each(t, filepath.Join("..", "..", "conclude", folder), func(within string, n ast.Node) {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if value, ok := constants[n.Sel.Name]; ok {
					read[value] = folder
				}
			case *ast.IndexExpr:
				s, ok := n.X.(*ast.SelectorExpr)
				if of, known := before(s, ok); !known || of != "t" || s.Sel.Name != "Facts" {
					return
				}
				if name := literal(n.Index); name != "" {
					read[name] = folder
				} else if _, known := takesNames[within]; !known {
					if _, constant := n.Index.(*ast.SelectorExpr); !constant {
						t.Errorf("%s of %s reads a fact by a name that this test does not see", within, folder)
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok {
					for _, arg := range n.Args[max(0, len(n.Args)-takesNames[f.Name]):] {
						if name := literal(arg); name != "" {
							read[name] = folder
						}
					}
				}
			}
		})
	}
	if len(read) < 10 {
		t.Fatalf("only these are found: %v", read)
	}
	for name, folder := range read {
		if !InAnswer(name) {
			t.Errorf("%s reads the fact %q, which InAnswer leaves out", folder, name)
		}
	}
}

// before is the name before the point of a selector.
func before(s *ast.SelectorExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	i, ok := s.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return i.Name, true
}

// literal is the value of a text in the source; empty for another expression.
func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	return ""
}

// each visits the nodes of a package's source, with the name of the function around them.
func each(t *testing.T, folder string, visit func(within string, n ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			within := ""
			if f, ok := d.(*ast.FuncDecl); ok {
				within = f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if n != nil {
					visit(within, n)
				}
				return true
			})
		}
	}
}

func TestBriefKeepsWhatAnswersRead(t *testing.T) {
	trial := Trial{Facts: map[string]string{"wait": "block", "os": "x"}, Commands: []string{"a"}, Raw: []string{"b"},
		Histogram: "h", Notes: []string{"n"}}
	trial.Brief()
	if len(trial.Facts) != 1 || trial.Facts["wait"] != "block" || trial.Commands != nil || trial.Raw != nil ||
		trial.Histogram != "h" || len(trial.Notes) != 1 {
		t.Errorf("%+v", trial)
	}
}
