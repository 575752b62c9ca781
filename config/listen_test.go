package config_test

import (
	"testing"

	"drawbridge/config"
)

func TestWhereMetricsMayBeTold(t *testing.T) {
	for src, want := range map[string]config.Listen{
		`{api: /s, metrics: "127.0.0.1:4781"}`:                         {API: "/s", Metrics: "127.0.0.1:4781"},
		`{api: /s, metrics: "127.8.0.1:4781"}`:                         {API: "/s", Metrics: "127.8.0.1:4781"},
		`{api: /s, metrics: "[::1]:4781"}`:                             {API: "/s", Metrics: "[::1]:4781"},
		`{api: /s, metrics: "[::]:4781", metrics_token_file: /t}`:      {API: "/s", Metrics: "[::]:4781", MetricsTokenFile: "/t"},
		`{api: /s, metrics: "127.0.0.1:4781", metrics_token_file: /t}`: {API: "/s", Metrics: "127.0.0.1:4781", MetricsTokenFile: "/t"},
	} {
		if got := good(t, "agent: a\nlisten: "+src+"\n").Listen; got != want {
			t.Errorf("%s: got %+v, want %+v", src, got, want)
		}
	}
}
