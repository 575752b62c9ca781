package agent_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"

	"drawbridge/agent/agenttest"
)

// A busy agent stores, ships, takes in and has done so before; what it tells is all that there is to tell.
func busyNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	synctest.Test(t, func(t *testing.T) {
		n := agenttest.NewNetwork(1, agenttest.Faults{Delay: 10 * time.Millisecond})
		defer n.Close()
		a, b := pair(t, n)
		defer a.stop()
		defer b.stop()
		a.put(t, "orders", "order", 100)
		b.put(t, "refunds", "refund", 100)
		until(t, soon, "messages pass both ways", func() bool {
			_, text := a.get("/metrics")
			return strings.Contains(text, `drawbridge_queue_settled_total{queue="orders"} 100`) &&
				strings.Contains(text, `drawbridge_receive_accepted_total{link="b",queue="refunds"} 100`)
		})
		_, text := a.get("/metrics")
		for line := range strings.Lines(text) {
			if name, told := strings.CutPrefix(line, "# TYPE "); told {
				name, _, _ = strings.Cut(name, " ")
				names[name] = true
			}
		}
	})
	return names
}

// metricName finds the metrics of an agent in an expression; what stands in quotes or is the name of an alert is none.
var metricName = regexp.MustCompile(`\b(drawbridge|process|go)_[a-z0-9_]+\b`)

// rule is one alert of docs/deploy/alerts.yaml.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

const alerts = "../docs/deploy/alerts.yaml"

func TestEveryMetricOfTheAlertsIsTold(t *testing.T) {
	src, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.UnmarshalWithOptions(src, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	told := busyNames(t)
	seen := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			seen++
			names := metricName.FindAllString(r.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s names no metric: %s", r.Alert, r.Expr)
			}
			for _, name := range names {
				if !told[name] {
					t.Errorf("%s: no agent tells %s", r.Alert, name)
				}
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s does not say what it means and what to do: %+v", r.Alert, r)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d alerts are read", seen)
	}
}

func TestPromtoolTakesTheAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", alerts).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

func TestEveryMetricOfTheDashboardIsTold(t *testing.T) {
	src, err := os.ReadFile("../docs/deploy/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Templating struct {
			List []struct {
				Query json.RawMessage `json:"query"`
			} `json:"list"`
		} `json:"templating"`
		Panels []struct {
			ID      int    `json:"id"`
			Type    string `json:"type"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(src, &board); err != nil {
		t.Fatal(err)
	}
	told := busyNames(t)
	shown := make(map[string]bool)
	ids := make(map[int]bool)
	look := func(where, expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			shown[name] = true
			if !told[name] {
				t.Errorf("%s: no agent tells %s", where, name)
			}
		}
	}
	for _, v := range board.Templating.List {
		look("variable", string(v.Query))
	}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			look(p.Title, target.Expr)
		}
	}
	if len(shown) < 30 {
		t.Errorf("the dashboard shows %d metrics: %v", len(shown), slices.Sorted(maps.Keys(shown)))
	}
}

// row finds a metric that has a row of its own in a table of docs/metrics.md.
var row = regexp.MustCompile("(?m)^\\| `(drawbridge_[a-z0-9_]+)` \\| [^|]+ \\|")

func TestThePageOfMetricsIsWhatIsTold(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := make(map[string]bool)
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		if explained[match[1]] {
			t.Errorf("%s is explained twice", match[1])
		}
		explained[match[1]] = true
	}
	told := busyNames(t)
	for name := range told {
		if strings.HasPrefix(name, "drawbridge_") && !explained[name] {
			t.Errorf("docs/metrics.md does not explain %s", name)
		}
	}
	for name := range explained {
		if !told[name] {
			t.Errorf("docs/metrics.md explains %s, which no agent tells", name)
		}
	}
}
