package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// maxSocketPath is what Linux takes as the path of a Unix socket, its final zero byte not counted.
const maxSocketPath = 107

func (r *reader) listen(n node, into *Listen) {
	f := r.fields(n, listenKeys)
	r.address(f["link"], &into.Link, checkListen)
	r.metrics(f, into)

	api := f["api"]
	if api.kind == scalar && isHostPort(api.text) {
		r.report(api.place, "a TCP address is not supported by this version yet, want the absolute path of a Unix socket")
		return
	}
	r.absolutePath(api, &into.API)
	if len(into.API) > maxSocketPath {
		at := api.place
		if api.kind == absent {
			at.path = "listen.api"
		}
		r.report(at, "the path %s has %d bytes, a Unix socket takes at most %d", clip(into.API), len(into.API), maxSocketPath)
	}
}

// metrics stores where metrics and health are told. Names of queues and peers are nobody's business outside this machine, so
// any other address needs a token.
func (r *reader) metrics(f map[string]node, into *Listen) {
	listens, token := f["metrics"], f["metrics_token_file"]
	r.absolutePath(token, &into.MetricsTokenFile)
	if token.kind != absent && listens.kind == absent {
		r.report(token.place, "there is no listen.metrics that could ask for the token")
	}
	if r.address(listens, &into.Metrics, checkListen) && token.kind == absent && !isLoopback(into.Metrics) {
		r.report(listens.place, "%s can be reached from other machines: use 127.0.0.1, or set metrics_token_file", clip(into.Metrics))
	}
}

// isLoopback tells whether only this machine can reach a host:port. A name proves nothing, whatever it leads to today.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// address stores a host:port that check accepts.
func (r *reader) address(n node, into *string, check func(string) error) bool {
	var address string
	if !r.text(n, &address) {
		return false
	}
	if err := check(address); err != nil {
		r.report(n.place, "%v", err)
		return false
	}
	*into = address
	return true
}

// checkListen accepts host:port or :port, where the host is an address or name of this machine.
func checkListen(address string) error {
	host, err := checkPort(address)
	if err == nil && host != "" {
		err = checkHost(address, host)
	}
	return err
}

// checkDial accepts host:port.
func checkDial(address string) error {
	host, err := checkPort(address)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return fmt.Errorf("%s is no address of a peer, it means every address of a machine that listens", clip(host))
	}
	return checkHost(address, host)
}

func checkPort(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if ip, err := netip.ParseAddr(address); err == nil {
			return "", fmt.Errorf("%q has no port, write %s", clip(address), net.JoinHostPort(ip.String(), "4747"))
		}
		if bareNumber.MatchString(address) {
			return "", fmt.Errorf("%q is a port alone, want host:port", clip(address))
		}
		if hostName.MatchString(address) {
			return "", fmt.Errorf("%q has no port, write %s:4747", clip(address), clip(address))
		}
		return "", fmt.Errorf("%q is not an address, want host:port such as nyc-1.example.net:4747 or [2001:db8::1]:4747", clip(address))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || port[0] == '+' {
		return "", fmt.Errorf("%q: the port must be a number from 1 to 65535", clip(address))
	}
	return host, nil
}

// hostName is what a name server can know: labels of letters, digits, hyphens and, in private zones, underscores.
var hostName = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`)

// onlyNumbers looks like an IPv4 address; no name server has such a name.
var onlyNumbers = regexp.MustCompile(`^[0-9.]+$`)

func checkHost(address, host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if len(host) > 253 || !hostName.MatchString(host) || onlyNumbers.MatchString(host) {
		return fmt.Errorf("%q: %q is neither an IP address nor a host's name", clip(address), clip(host))
	}
	return nil
}

func isHostPort(text string) bool {
	_, err := checkPort(text)
	return err == nil && !strings.HasPrefix(text, "/")
}
