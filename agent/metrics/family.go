package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is one metric, with its labels in order.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("drawbridge_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("drawbridge_"+name, help, labels, nil), prometheus.CounterValue}
}

// sample is one number of a family.
func (f family) sample(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
}

// truth is a yes or no as a number.
func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
