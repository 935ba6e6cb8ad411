package azuretest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// login answers requests that need no token: for the addresses of services, and for a token. It is false for others.
func (c *Cloud) login(w http.ResponseWriter, r *http.Request, path string) bool {
	tenant := c.URL + "/" + Tenant
	switch {
	case strings.HasSuffix(path, "/.well-known/openid-configuration"):
		send(w, http.StatusOK, object{
			"issuer": tenant + "/v2.0", "authorization_endpoint": tenant + "/oauth2/v2.0/authorize",
			"token_endpoint":                tenant + "/oauth2/v2.0/token",
			"device_authorization_endpoint": tenant + "/oauth2/v2.0/devicecode",
		})
	case strings.HasSuffix(path, "/oauth2/v2.0/token"):
		if r.FormValue("client_id") != Client || r.FormValue("client_secret") != c.Secret {
			send(w, http.StatusUnauthorized, object{
				"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided.",
			})
			return true
		}
		send(w, http.StatusOK, object{
			"token_type": "Bearer", "expires_in": 3600, "ext_expires_in": 3600,
			"access_token": c.token(r.FormValue("scope")),
		})
	case path == "/metadata/endpoints":
		send(w, http.StatusOK, c.metadata())
	default:
		return false
	}
	return true
}

// token makes a token whose signature nothing checks.
func (c *Cloud) token(audience string) string {
	part := func(o object) string {
		text, _ := json.Marshal(o) // it has only texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	return part(object{"alg": "RS256", "typ": "JWT"}) + "." + part(object{
		"aud": audience, "iss": c.URL + "/" + Tenant, "tid": Tenant, "oid": Client, "appid": Client, "sub": Client,
		"idtyp": "app", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}) + "." + base64.RawURLEncoding.EncodeToString([]byte("unsigned"))
}

// metadata says where the services of the cloud are, as azurerm asks for it.
func (c *Cloud) metadata() object {
	return object{
		"name": cloudName, "portal": c.URL, "resourceManager": c.URL + "/", "graph": c.URL + "/graph",
		"graphAudience": c.URL + "/graph", "microsoftGraphResourceId": c.URL + "/graph", "batch": c.URL, "media": c.URL,
		"gallery": c.URL,
		"authentication": object{
			"loginEndpoint": c.URL, "audiences": []string{c.URL + "/", c.URL}, "tenant": "common",
			"identityProvider": "AAD",
		},
		"suffixes": object{
			"storage": "storage.test", "keyVaultDns": "vault.test", "acrLoginServer": "registry.test",
			"sqlServerHostname": "sql.test", "mhsmDns": "hsm.test", "storageSyncEndpointSuffix": "sync.test",
		},
	}
}
