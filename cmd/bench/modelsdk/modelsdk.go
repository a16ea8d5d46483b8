// Package modelsdk tests gateway/llm with the official SDKs of OpenAI and Anthropic. It stands in this module so that programs that import
// jeton do not get the SDKs.
package modelsdk
