package config

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// Load reads and checks the file at path, with variables from the environment of the process. Its error is Errors: every
// mistake of the file.
func Load(path string) (*Config, error) {
	src, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, (&source{name: path}).whole("there is no such file; `drawbridge init` writes one to begin with")
	case err != nil:
		return nil, (&source{name: path}).whole("%v", err)
	}
	return Parse(path, src, os.LookupEnv)
}

// read reads no more than it takes to see that a file is too large: the path may lead to a device without end.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+4))
}

// Parse checks src; name stands for it in problems, env looks up variables. What the file leaves out is taken from the
// machine: the host's name and the user's default paths. Its error is Errors.
func Parse(name string, src []byte, env func(string) (string, bool)) (*Config, error) {
	text, err := newSource(name, src)
	if err != nil {
		return nil, err
	}
	r := &reader{source: text, env: env}
	c := r.config()
	if err := r.result(); err != nil {
		return nil, err
	}
	return c, nil
}

// The defaults of what belongs to no other package.
const (
	defaultShutdownGrace = 30 * time.Second
	defaultLedgerBytes   = 64 << 20
	defaultLedgerDisk    = 1 << 30
	defaultLogLevel      = "info"
	defaultLogFormat     = "text"
)

// leastLedgerDisk holds the ids of the largest commit there can be, so that the newest message is always remembered.
const leastLedgerDisk = 16 << 20

// noLimit is the upper bound of durations that may be as long as anybody wants.
const noLimit = 5200 * 7 * 24 * time.Hour

func (r *reader) config() *Config {
	paths := DefaultPaths(os.Getuid(), func(variable string) string {
		value, _ := r.env(variable)
		return value
	})
	c := &Config{
		DataDir:           paths.DataDir,
		Listen:            Listen{API: paths.API},
		LedgerMemoryBytes: defaultLedgerBytes,
		LedgerMaxBytes:    defaultLedgerDisk,
		LedgerMaxWindow:   dedupe.DefaultMaxWindow,
		Log:               Log{Level: defaultLogLevel, Format: defaultLogFormat},
		ShutdownGrace:     defaultShutdownGrace,
	}
	root, whole := r.document()
	f := r.fields(root, rootKeys)

	if whole || f["agent"].kind != absent {
		c.Agent = r.agent(f["agent"])
	}
	r.absolutePath(f["data_dir"], &c.DataDir)
	r.listen(f["listen"], &c.Listen)
	queues := r.queues(f["defaults"], f["queues"])
	c.Queues = make(map[string]spool.QueueOptions, len(queues))
	for _, q := range queues {
		c.Queues[q.name] = q.options
		if q.engine.value == engineMemory {
			c.Volatile = append(c.Volatile, q.name)
		}
	}
	links := r.links(f["links"])
	c.Links = make(map[string]Link, len(links))
	for _, l := range links {
		c.Links[l.name] = l.config()
	}
	r.ledgerMemory(f["ledger_memory"], &c.LedgerMemoryBytes)
	r.size(f["ledger_max_bytes"], &c.LedgerMaxBytes, leastLedgerDisk, 1<<40)
	r.duration(f["ledger_max_window"], &c.LedgerMaxWindow, time.Hour, noLimit)
	r.memoryLimit(f["memory_limit"], c)
	r.log(f["log"], &c.Log)
	r.duration(f["shutdown_grace"], &c.ShutdownGrace, 0, time.Hour)

	if whole {
		r.contradictions(c, queues, links, f)
	}
	return c
}

// agent returns the agent's name: the file's, else the host's up to its first dot.
func (r *reader) agent(n node) string {
	var name string
	if n.kind != absent {
		if r.text(n, &name) {
			r.check(n.place, message.CheckAgent(name))
		}
		return name
	}
	host, err := os.Hostname()
	name, _, _ = strings.Cut(host, ".")
	if err == nil {
		err = message.CheckAgent(name)
	}
	if err != nil {
		r.report(place{path: "agent"}, "the host's name cannot be used, give the agent a name: %v", err)
	}
	return name
}

// check reports err, if any, at a place.
func (r *reader) check(at place, err error) {
	if err != nil {
		r.report(at, "%v", err)
	}
}

// absolutePath stores a path that means the same from wherever the agent is started.
func (r *reader) absolutePath(n node, into *string) {
	var path string
	if !r.text(n, &path) {
		return
	}
	if rest, tilde := strings.CutPrefix(path, "~/"); tilde {
		r.suggest(n.place, "${HOME}/"+rest, "%q is not an absolute path, ~ is a word of the shell", clip(path))
		return
	}
	if !filepath.IsAbs(path) {
		r.report(n.place, "%q is not an absolute path, begin it with /", clip(path))
		return
	}
	*into = filepath.Clean(path)
}

func (r *reader) ledgerMemory(n node, into *int) {
	bytes := uint64(*into)
	r.size(n, &bytes, 1<<20, min(1<<40, math.MaxInt))
	*into = int(bytes)
}
