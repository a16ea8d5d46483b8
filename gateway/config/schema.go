package config

import "embed"

const schemaFile = "gateway.schema.json"

//go:embed gateway.schema.json
var embedded embed.FS

// Schema is the JSON Schema (2020-12) of a document, with the descriptions of the fields. It knows the structure, ranges
// and words, so that editors can check them; [Parse] checks more.
func Schema() ([]byte, error) { return embedded.ReadFile(schemaFile) }
