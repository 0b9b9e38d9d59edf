package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fuzzsafe/benchmarks"
)

// benchLine describes an embedded instance in JSON.
type benchLine struct {
	Name        string `json:"name"`
	Family      string `json:"family"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func (env *environment) benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "list or export the embedded benchmark instances",
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return usage("bench %s: there are list and export", name)
			}
			return cli.ShowSubcommandHelp(c)
		},
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the instances",
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
			list = append(list, benchLine{i.Name, i.Family, i.Title, i.Description})
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
