// Package config is the one document that configures a gateway, gateway.yaml: its structure, what is valid, and its JSON
// Schema. Start with [Read], or make a [Document] and call [Document.Validate].
//
// A field that is left out is zero, and a zero field means its default, which the methods of the structs apply:
// [Cluster.Budget], [Proxy.Address]. Where the syntax of a text matters to others too, there is one parser of it:
// [CheckPattern], [ParseTemplate], [ParseVariable], [Answer.Template].
//
// The package is large because the document is: a third of it are the structs with the documentation of their fields, from which the
// schema and docs/gateway.md are generated, and half is validation, which finds everything that is wrong at once. They are one
// package because every check names fields of the structs, and a new field needs its documentation, default and check together.
package config

//go:generate go test -count=1 -run ^Test(Schema|Reference)IsCurrent$ . -args -update
