package metrics

import (
	"encoding/json"
	"math"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Teller tells the figures of one agent, of its process and of the Go runtime in it.
type Teller struct {
	registry *prometheus.Registry
	text     http.Handler
}

// NewTeller returns a Teller of s. It has a registry of its own: two agents of one process do not share one.
func NewTeller(s Source) *Teller {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		NewCollector(s),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return &Teller{registry, promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})}
}

// Gather implements prometheus.Gatherer.
func (t *Teller) Gather() ([]*dto.MetricFamily, error) { return t.registry.Gather() }

// ServeText answers in the text formats of Prometheus.
func (t *Teller) ServeText(w http.ResponseWriter, r *http.Request) { t.text.ServeHTTP(w, r) }

// Family is one metric in JSON.
type Family struct {
	Name    string   `json:"name"`
	Help    string   `json:"help"`
	Type    string   `json:"type"`
	Samples []Sample `json:"samples"`
}

// Sample is one number of a Family; of a summary or histogram it is the sum, with the count beside it.
type Sample struct {
	Labels map[string]string `json:"labels,omitempty"`
	Value  float64           `json:"value"`
	Count  uint64            `json:"count,omitempty"`
}

// Families returns the numbers of one look, sorted by name.
func (t *Teller) Families() ([]Family, error) {
	gathered, err := t.Gather()
	if err != nil {
		return nil, err
	}
	families := make([]Family, 0, len(gathered))
	for _, f := range gathered {
		family := Family{Name: f.GetName(), Help: f.GetHelp(), Type: typeWord(f.GetType())}
		for _, m := range f.GetMetric() {
			family.Samples = append(family.Samples, sampleOf(m))
		}
		families = append(families, family)
	}
	return families, nil
}

// MarshalJSON returns the numbers of one look as a list of Family.
func (t *Teller) MarshalJSON() ([]byte, error) {
	families, err := t.Families()
	if err != nil {
		return nil, err
	}
	return json.Marshal(families)
}

func typeWord(t dto.MetricType) string {
	switch t {
	case dto.MetricType_COUNTER:
		return "counter"
	case dto.MetricType_GAUGE:
		return "gauge"
	case dto.MetricType_SUMMARY:
		return "summary"
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		return "histogram"
	default:
		return "untyped"
	}
}

func sampleOf(m *dto.Metric) (s Sample) {
	for _, l := range m.GetLabel() {
		if s.Labels == nil {
			s.Labels = make(map[string]string)
		}
		s.Labels[l.GetName()] = l.GetValue()
	}
	switch {
	case m.Counter != nil:
		s.Value = m.Counter.GetValue()
	case m.Gauge != nil:
		s.Value = m.Gauge.GetValue()
	case m.Summary != nil:
		s.Value, s.Count = m.Summary.GetSampleSum(), m.Summary.GetSampleCount()
	case m.Histogram != nil:
		s.Value, s.Count = m.Histogram.GetSampleSum(), m.Histogram.GetSampleCount()
	case m.Untyped != nil:
		s.Value = m.Untyped.GetValue()
	}
	if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		s.Value = 0 // JSON has no word for it
	}
	return s
}
