package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drawbridge/link/quic"
)

// pair is the two agents of a demo: their directories, identities, configuration files and processes.
type pair struct {
	dir string
	// remove are the directories that close removes.
	remove     []string
	executable string
	nursery    *nursery
	a, b       *host
}

// maxSocketBytes is the longest path of a Unix socket that every system takes.
const maxSocketBytes = 100

// newPair makes directories and identities; nothing runs yet. lost is told when an agent ends by itself.
func newPair(o Options, lost func(error)) (_ *pair, err error) {
	p := &pair{dir: o.Dir, executable: o.Executable, nursery: newNursery()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := p.makeDir(); err != nil {
		return nil, err
	}
	sockets := p.dir
	if len(filepath.Join(sockets, "a.sock")) > maxSocketBytes {
		if sockets, err = p.makeTemp("/tmp"); err != nil {
			return nil, err
		}
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	if p.a, err = p.newHost("a", sockets, ports[0], lost); err != nil {
		return nil, err
	}
	if p.b, err = p.newHost("b", sockets, ports[1], lost); err != nil {
		return nil, err
	}
	a, b := p.a.side, p.b.side
	a.Peer, a.Sends, a.Takes = b, queue, replies
	b.Peer, b.Sends, b.Takes = a, replies, queue
	return p, nil
}

// makeDir makes the pair's directory: a temporary one unless one was named, which is left in place then.
func (p *pair) makeDir() (err error) {
	if p.dir == "" {
		p.dir, err = p.makeTemp("")
		return err
	}
	if p.dir, err = filepath.Abs(p.dir); err == nil {
		err = os.MkdirAll(p.dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make the demo's directory: %w", err)
	}
	return nil
}

func (p *pair) makeTemp(under string) (string, error) {
	dir, err := os.MkdirTemp(under, "drawbridge-demo-")
	if err != nil {
		return "", fmt.Errorf("make the demo's directory: %w", err)
	}
	p.remove = append(p.remove, dir)
	return dir, nil
}

// newHost makes an agent's directory and its identity.
func (p *pair) newHost(letter, sockets string, port netip.AddrPort, lost func(error)) (*host, error) {
	s := &side{
		Letter:  strings.ToUpper(letter),
		Agent:   "demo-" + letter,
		DataDir: filepath.Join(p.dir, letter),
		Socket:  filepath.Join(sockets, letter+".sock"),
		Listen:  port.String(),
		Link:    letter,
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of agent %s: %w", s.Letter, err)
	}
	identity, err := quic.CreateIdentity(filepath.Join(s.DataDir, "identity.key"))
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", s.Letter, err)
	}
	s.Pin = identity.Pin().String()
	return newHost(s, filepath.Join(p.dir, letter), p, lost), nil
}

// command makes a command of the pair's program.
func (p *pair) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.executable, args...)
	cmd.Dir = p.dir
	return cmd
}

// start writes both configurations and starts both agents. A reaches B at address, B waits.
func (p *pair) start(ctx context.Context, address string) error {
	p.a.side.Address = address
	for _, h := range []*host{p.b, p.a} {
		if err := h.writeConfig(); err != nil {
			return err
		}
		if err := h.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends both agents at the same time.
func (p *pair) stop() error {
	var errs [2]error
	done := make(chan struct{})
	go func() {
		defer close(done)
		errs[0] = p.a.child.stop()
	}()
	errs[1] = p.b.child.stop()
	<-done
	return errors.Join(errs[:]...)
}

// close ends what still runs and removes what is temporary.
func (p *pair) close() error {
	var errs []error
	if p.a != nil && p.b != nil {
		errs = append(errs, p.stop())
	}
	p.nursery.close()
	for _, dir := range p.remove {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// keep starts both agents again, so that they live on by themselves: without the relay, which ends with this process, and from
// a copy of the program, because `go run` removes its own. It prints what to try with them.
func (p *pair) keep(ctx context.Context, w io.Writer) error {
	p.remove = nil
	if err := p.stop(); err != nil {
		return err
	}
	program := filepath.Join(p.dir, "drawbridge")
	if err := copyProgram(p.executable, program); err != nil {
		return err
	}
	p.executable = program
	p.a.side.Address = p.b.side.Listen
	var pids []int
	for _, h := range []*host{p.b, p.a} {
		if err := h.writeConfig(); err != nil {
			return err
		}
		pid, err := h.child.release(ctx, h.answers)
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	_, err := fmt.Fprint(w, p.advice(pids))
	return err
}

// advice is what to try with agents that were kept.
func (p *pair) advice(pids []int) string {
	call := func(s *side, args string) string {
		return fmt.Sprintf("  %s --api %s %s\n", p.executable, s.Socket, args)
	}
	a, b := p.a.side, p.b.side
	return "both agents are left running, now without the relay between them; try:\n" +
		call(a, "links") +
		call(b, "queues") +
		call(a, "put "+queue+" 'hello B'") +
		call(b, "take "+queue) +
		call(b, "put "+replies+" 'hello A'") +
		call(a, "take "+replies) +
		"and in the end:\n" +
		fmt.Sprintf("  kill %d %d && sleep 1 && rm -rf %s\n", pids[0], pids[1], p.leftovers())
}

func (p *pair) leftovers() string {
	if dir := filepath.Dir(p.a.side.Socket); dir != p.dir {
		return p.dir + " " + dir
	}
	return p.dir
}

func copyProgram(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy the program: %w", err)
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return fmt.Errorf("copy the program: %w", err)
	}
	_, err = io.Copy(dst, src)
	if err := errors.Join(err, dst.Close()); err != nil {
		return fmt.Errorf("copy the program: %w", err)
	}
	return nil
}

// freePorts finds UDP ports of this host that nobody uses now. Somebody may take one before an agent does; then the agent
// does not start, and says so.
func freePorts(n int) ([]netip.AddrPort, error) {
	ports := make([]netip.AddrPort, n)
	for i := range ports {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopback))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		// closed at the end only, so that no port is found twice
		defer func() { _ = c.Close() }()
		ports[i] = c.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	return ports, nil
}
