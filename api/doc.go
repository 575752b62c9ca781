// Package api is the words of the local API: the JSON shapes of its answers, the names of its headers and the codes of its
// errors. The agent's side (agent/localapi) and the library for local programs (client) share it, so that neither needs
// the other. It holds no behaviour beyond turning bodies into JSON and back.
package api
