package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the import path of the repository's root.
const module = "fuzzsafe"

// mayImport says which packages of this module a package may import: jani ← engine ←
// {algorithms, nnpolicy} ← {cmd, benchmarks}. External test packages may import all.
func mayImport() map[string][]string {
	return map[string][]string{
		"jani":              {},
		"jani/interp":       {"jani"},
		"jani/certificate":  {"jani", "jani/interp"},
		"engine":            {"jani"},
		"engine/enginetest": {"jani", "engine"},
		"algorithms":        {"jani", "engine"},
		"nnpolicy":          {"jani", "engine"},
		"benchmarks":        {"jani", "engine", "algorithms", "nnpolicy"},
		"cmd/fuzzsafe":      {"jani", "jani/certificate", "engine", "algorithms", "nnpolicy", "benchmarks"},
	}
}

// TestArchitecture holds the packages to the import rule, keeps what is below cmd from
// printing and exiting, and all of them from package-level variables that change.
func TestArchitecture(t *testing.T) {
	const root = "../.."
	rules := mayImport()
	sources := map[string]map[string]string{} // package folder → file → text
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != root && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		if sources[dir] == nil {
			sources[dir] = map[string]string{}
		}
		sources[dir][path.Join(dir, d.Name())] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range sources {
		for _, c := range complaints(rules, dir, files) {
			t.Error(c)
		}
	}
	for dir := range rules {
		if sources[dir] == nil {
			t.Errorf("there is a rule for package %s, but no such package", dir)
		}
	}
}

// complaints checks the files of one package, by name.
func complaints(rules map[string][]string, dir string, files map[string]string) (list []string) {
	allowed, known := rules[dir]
	if !known {
		return []string{fmt.Sprintf("%s: no rule says what this package may import", dir)}
	}
	fset := token.NewFileSet()
	var parsed []*ast.File // of the package itself, tests included
	for name, text := range files {
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return append(list, err.Error())
		}
		if !strings.HasSuffix(f.Name.Name, "_test") {
			parsed = append(parsed, f)
		}
	}
	complain := func(at token.Pos, format string, args ...any) {
		list = append(list, fmt.Sprintf("%v: %s", fset.Position(at), fmt.Sprintf(format, args...)))
	}
	isTest := func(at token.Pos) bool { return strings.HasSuffix(fset.Position(at).Filename, "_test.go") }

	// Imports are stand-ins without members: enough to know what a name refers to.
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: standIns{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, parsed, &info)
	uses := func(x ast.Expr) types.Object {
		if id, ok := ast.Unparen(x).(*ast.Ident); ok {
			return info.Uses[id]
		}
		return nil
	}
	changes := func(x ast.Expr) {
		v, ok := uses(root(x)).(*types.Var)
		if ok && v.Parent() == pkg.Scope() && !isTest(v.Pos()) {
			complain(x.Pos(), "the package-level variable %s is changed", v.Name())
		}
	}

	for _, f := range parsed {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				complain(spec.Pos(), "%v", err)
			}
			if inner, ok := strings.CutPrefix(name, module+"/"); ok && !slices.Contains(allowed, inner) {
				complain(spec.Pos(), "package %s must not import %s", dir, inner)
			}
			if name == "flag" && !strings.HasPrefix(dir, "cmd/") && !isTest(spec.Pos()) {
				complain(spec.Pos(), "only cmd reads flags")
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					changes(x)
				}
			case *ast.IncDecStmt:
				changes(n.X)
			case *ast.RangeStmt:
				for _, x := range []ast.Expr{n.Key, n.Value} {
					if x != nil && n.Tok == token.ASSIGN {
						changes(x)
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					changes(n.X)
				}
			case *ast.CallExpr:
				b, ok := uses(n.Fun).(*types.Builtin)
				switch {
				case !ok:
				case slices.Contains([]string{"delete", "clear", "copy"}, b.Name()) && len(n.Args) > 0:
					changes(n.Args[0])
				case strings.HasPrefix(b.Name(), "print") && !isTest(n.Pos()):
					complain(n.Pos(), "%s is for debugging", b.Name())
				}
			case *ast.SelectorExpr:
				p, ok := uses(n.X).(*types.PkgName)
				if !ok || strings.HasPrefix(dir, "cmd/") || isTest(n.Pos()) {
					break
				}
				switch what := p.Imported().Path() + "." + n.Sel.Name; {
				case what == "os.Exit", what == "os.Stdout", what == "os.Stderr",
					strings.HasPrefix(what, "log."), strings.HasPrefix(what, "fmt.Print"):
					complain(n.Pos(), "only cmd prints and exits, and this is %s", what)
				}
			}
			return true
		})
	}
	return list
}

// root returns the operand at the root of x[i].f and the like, which changes with it.
func root(x ast.Expr) ast.Expr {
	for {
		switch y := x.(type) {
		case *ast.ParenExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.SliceExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		default:
			return x
		}
	}
}

// standIns imports empty packages.
type standIns struct{}

func (standIns) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// Each rule finds what breaks it, and nothing in the like that does not.
func TestComplaints(t *testing.T) {
	const fine = `package engine
import (
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"fuzzsafe/jani"
)
//go:embed x
var files embed.FS
var ErrNone = errors.New("none")
var table = [...]int{1, 2}
var used = jani.X
func f(w io.Writer, l *slog.Logger) (err error) {
	table := []int{len(table)}
	table[0]++
	used, err := os.ReadFile("x")
	files := &used
	fmt.Fprintln(w, files)
	l.Info("x")
	os := struct{ Exit int }{}
	os.Exit = 1
	return err
}`
	for _, c := range []struct{ dir, file, text, want string }{
		{"engine", "a.go", fine, ""},
		{"engine", "a_test.go", "package engine_test\nimport (\"fuzzsafe/algorithms\"; \"fuzzsafe/engine/enginetest\")", ""},
		{"engine", "a_test.go", "package engine\nimport \"flag\"\nvar update = flag.Bool()\nvar n int\nfunc f() { n++; println(*update) }", ""},
		{"cmd/fuzzsafe", "a.go", "package main\nimport \"os\"\nfunc f() { os.Exit(1) }", ""},

		{"elsewhere", "a.go", "package elsewhere", "no rule"},
		{"jani", "a.go", "package jani\nimport \"fuzzsafe/engine\"", "must not import engine"},
		{"jani", "a_test.go", "package jani\nimport \"fuzzsafe/engine\"", "must not import engine"},
		{"jani/interp", "a.go", "package interp\nimport \"fuzzsafe/engine\"", "must not import engine"},
		{"jani/certificate", "a.go", "package certificate\nimport \"fuzzsafe/engine\"", "must not import engine"},
		{"jani/certificate", "a.go", "package certificate\nimport \"fuzzsafe/algorithms\"", "must not import algorithms"},
		{"engine", "a.go", "package engine\nimport \"fuzzsafe/engine/enginetest\"", "must not import engine/enginetest"},
		{"algorithms", "a.go", "package algorithms\nimport _ \"fuzzsafe/nnpolicy\"", "must not import nnpolicy"},
		{"nnpolicy", "a.go", "package nnpolicy\nimport a \"fuzzsafe/algorithms\"", "must not import algorithms"},
		{"benchmarks", "a.go", "package benchmarks\nimport \"fuzzsafe/cmd/fuzzsafe\"", "must not import cmd/fuzzsafe"},

		{"engine", "a.go", "package engine\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"},
		{"engine", "a.go", "package engine\nimport \"os\"\nvar w = os.Stderr", "os.Stderr"},
		{"engine", "a.go", "package engine\nimport system \"os\"\nvar w = system.Stdout", "os.Stdout"},
		{"engine", "a.go", "package engine\nimport \"log\"\nfunc f() { log.Fatalf(\"x\") }", "log.Fatalf"},
		{"engine", "a.go", "package engine\nimport \"fmt\"\nfunc f() { fmt.Println() }", "fmt.Println"},
		{"engine", "a.go", "package engine\nfunc f() { println() }", "println"},
		{"engine", "a.go", "package engine\nimport \"flag\"\nvar f = flag.Int()", "flags"},

		{"engine", "a.go", "package engine\nvar n int\nfunc f() { n = 1 }", "variable n is changed"},
		{"cmd/fuzzsafe", "a.go", "package main\nvar n int\nfunc f() { n += 1 }", "variable n is changed"},
		{"engine", "a.go", "package engine\nvar n int\nfunc f() { n-- }", "variable n is changed"},
		{"engine", "a.go", "package engine\nvar m = map[int]int{}\nfunc f() { m[1] = 1 }", "variable m is changed"},
		{"engine", "a.go", "package engine\nvar m = map[int]int{}\nfunc f() { delete(m, 1) }", "variable m is changed"},
		{"engine", "a.go", "package engine\nvar s struct{ a [2]int }\nfunc f() { (s.a)[1], _ = 1, 2 }", "variable s is changed"},
		{"engine", "a.go", "package engine\nvar p *int\nfunc f() { *p = 1 }", "variable p is changed"},
		{"engine", "a.go", "package engine\nvar n int\nfunc f() *int { return &n }", "variable n is changed"},
		{"engine", "a.go", "package engine\nvar n int\nfunc f() { for n = range 3 {} }", "variable n is changed"},
	} {
		got := complaints(mayImport(), c.dir, map[string]string{c.file: c.text})
		if text := strings.Join(got, "; "); (c.want == "") != (text == "") || !strings.Contains(text, c.want) || len(got) > 1 {
			t.Errorf("%s/%s:\n%s\ncomplaints: %q, want %q", c.dir, c.file, c.text, text, c.want)
		}
	}

	// What is declared in one file is not changed in another one either.
	got := complaints(mayImport(), "engine", map[string]string{
		"engine/a.go": "package engine\nvar n int", "engine/a_test.go": "package engine\nfunc f() { n = 1 }"})
	if want := "engine/a_test.go:2:12: the package-level variable n is changed"; !slices.Equal(got, []string{want}) {
		t.Errorf("complaints: %q, want %q", got, want)
	}
}
