package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fuzzsafe/benchmarks"
)

// benchLine describes an embedded instance in JSON, or a family, whose name is that of
// its instance with all parameters at their defaults.
type benchLine struct {
	Name        string           `json:"name"`
	Family      string           `json:"family"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Model       string           `json:"model,omitempty"`      // of a name that stands for a family with parameters
	Parameters  []benchParameter `json:"parameters,omitempty"` // of a family
}

type benchParameter struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Default string   `json:"default"`
	Values  []string `json:"values,omitempty"` // if there are none: a number from Min to Max
	Min     int      `json:"min"`
	Max     int      `json:"max"`
}

func (env *environment) benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "list or export benchmark instances, embedded or generated",
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return usage("bench %s: there are list and export", name)
			}
			return cli.ShowSubcommandHelp(c)
		},
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the instances and the families",
				Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON only"}},
				Action: func(c *cli.Context) error {
					if c.NArg() != 0 {
						return usage("bench list takes no arguments")
					}
					return env.benchList(c.Bool("json"))
				},
			},
			{
				Name: "export", Usage: "write the files of an instance into a new folder", ArgsUsage: "NAME FOLDER",
				Action: func(c *cli.Context) error {
					if c.NArg() != 2 {
						return usage("bench export needs NAME and FOLDER")
					}
					return env.benchExport(c.Args().Get(0), c.Args().Get(1))
				},
			},
		},
	}
}

func (env *environment) benchList(asJSON bool) error {
	if asJSON {
		list := []benchLine{}
		for _, i := range benchmarks.List() {
			list = append(list, benchLine{Name: i.Name, Family: i.Family, Title: i.Title, Description: i.Description})
		}
		titles := map[string]string{}
		for _, f := range benchmarks.Families() {
			titles[f.Name] = f.Title
		}
		for _, n := range benchmarks.Suite() {
			if family, _, generated := strings.Cut(n.Model, ":"); generated {
				list = append(list, benchLine{Name: n.Name, Family: family, Title: titles[family], Description: "The same as bench:" + n.Model + ".", Model: "bench:" + n.Model})
			}
		}
		for _, f := range benchmarks.Families() {
			line := benchLine{Name: f.Name, Family: f.Name, Title: f.Title, Description: f.Doc}
			for _, q := range f.Parameters {
				line.Parameters = append(line.Parameters, benchParameter{q.Name, q.Doc, q.Default, q.Values, q.Min, q.Max})
			}
			list = append(list, line)
		}
		e := json.NewEncoder(env.stdout)
		e.SetIndent("", "  ")
		return e.Encode(list)
	}
	w := tabwriter.NewWriter(env.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "name\tfamily\twhat")
	for _, i := range benchmarks.List() {
		fmt.Fprintf(w, "bench:%s\t%s\t%s\n", i.Name, i.Family, i.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(env.stdout, "\nOther instances of the suite, generated:\n\n")
	fmt.Fprintln(w, "name\tthe same as")
	for _, n := range benchmarks.Suite() {
		if strings.Contains(n.Model, ":") {
			fmt.Fprintf(w, "bench:%s\tbench:%s\n", n.Name, n.Model)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(env.stdout, "\nbench:FAMILY and bench:FAMILY:PARAMETER=VALUE,… are generated:\n\n")
	fmt.Fprintln(w, "family\tparameter\tdefault\twhat")
	for _, f := range benchmarks.Families() {
		fmt.Fprintf(w, "%s\t\t\t%s\n", f.Name, f.Title)
		for _, q := range f.Parameters {
			values := fmt.Sprintf("%d to %d", q.Min, q.Max)
			if len(q.Values) > 0 {
				values = joinNames(q.Values)
			}
			fmt.Fprintf(w, "\t%s\t%s\t%s (%s)\n", q.Name, q.Default, q.Doc, values)
		}
	}
	return w.Flush()
}

func (env *environment) benchExport(name, folder string) error {
	instance, err := benchmarks.Open(name)
	if err != nil {
		return usage("%v", err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return &badFile{fmt.Errorf("bench export writes into a new folder: %w", err)}
	}
	files := instance.FS()
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, path), text, 0o644); err != nil {
			return &badFile{err}
		}
		fmt.Fprintln(env.stdout, filepath.Join(folder, path))
		return nil
	})
}
