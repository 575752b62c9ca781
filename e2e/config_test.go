package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const fiveMistakes = `agent: fra
data_dir: DIR/data
listen:
  api: DIR/api.sock
queues:
  orders: { visibilty_timeout: 30s }
  refunds: { visibility_timeout: 30 }
  orders: {}
links:
  nyc:
    peer_id: ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA
    addresses: ["nyc-1.example.net:4747"]
    send: [{ from: ordres, to: orders, retry_fro: 72h }]
`

func TestFiveMistakesAreFiveErrorsAndNothingStarts(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"config", "check"}, {"run"}} {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			dir := shortTemp(t)
			path := filepath.Join(dir, "drawbridge.yaml")
			must(t, os.WriteFile(path, []byte(strings.ReplaceAll(fiveMistakes, "DIR", dir)), 0o600))
			out := runProgram(t, program, append(command, "--config", path)...)
			if out.code != 1 || out.stdout != "" {
				t.Errorf("exit code %d, standard output %q", out.code, out.stdout)
			}
			problems := regexp.MustCompile(`(?m)`+regexp.QuoteMeta(path)+`:(\d+):\d+: .*$`).FindAllStringSubmatch(out.stderr, -1)
			want := []struct{ line, hint string }{
				{"6", `visibilty_timeout: unknown key, .* did you mean "visibility_timeout"\?`},
				{"7", `30 has no unit, write 30s`},
				{"8", `given twice, first in line 6`},
				{"13", `no queue "ordres" .* did you mean "orders"\?`},
				{"13", `retry_fro: unknown key, .* did you mean "retry_for"\?`},
			}
			if len(problems) != len(want) {
				t.Fatalf("%d problems, want %d:\n%s", len(problems), len(want), out.stderr)
			}
			for i, w := range want {
				if problems[i][1] != w.line || !regexp.MustCompile(w.hint).MatchString(problems[i][0]) {
					t.Errorf("%s\nwant line %s and %s", problems[i][0], w.line, w.hint)
				}
			}
			left, err := os.ReadDir(dir)
			must(t, err)
			if len(left) != 1 {
				t.Errorf("something was begun: %v", left)
			}
		})
	}
}
