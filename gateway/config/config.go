// Package config is the one document that configures a gateway, gateway.yaml: its structure, what is valid, and its JSON
// Schema. Start with [Read], or make a [Document] and call [Document.Validate].
//
// A field that is left out is zero, and a zero field means its default, which the methods of the structs apply:
// [Cluster.Budget], [Proxy.Address]. Where the syntax of a text matters to others too, there is one parser of it:
// [CheckPattern], [ParseTemplate], [ParseVariable], [Answer.Template].
package config

//go:generate go test -count=1 -run ^Test(Schema|Reference)IsCurrent$ . -args -update
