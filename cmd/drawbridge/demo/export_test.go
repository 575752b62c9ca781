package demo

import (
	"context"
	"errors"
	"io"
)

// Bodies returns the first n bodies made of the lines of path.
func Bodies(path string, n int) ([][]byte, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = in.body(i)
	}
	return bodies, nil
}

// Configurations writes the configuration files of both agents of a demo in dir and returns their paths.
func Configurations(dir string) (paths []string, err error) {
	p, err := newPair(Options{Dir: dir}, func(error) {})
	if err != nil {
		return nil, err
	}
	p.a.side.Address = p.b.side.Listen
	for _, h := range []*host{p.a, p.b} {
		if err := h.writeConfig(); err != nil {
			return nil, err
		}
		paths = append(paths, h.configPath)
	}
	return paths, p.close()
}

// Keep starts the agents of a demo, and leaves them running.
func Keep(ctx context.Context, o Options, w io.Writer) error {
	p, err := newPair(o, func(error) {})
	if err != nil {
		return err
	}
	err = p.start(ctx, p.b.side.Listen)
	if err == nil {
		err = p.keep(ctx, w)
	}
	return errors.Join(err, p.close())
}
