package tool

import (
	"fmt"
	"strings"
	"testing"
)

// TestPingInOtherLanguages reads what ping of Windows and of iputils prints in other languages: alone, and behind
// another run in one recording.
func TestPingInOtherLanguages(t *testing.T) {
	for _, c := range localisedPings() {
		t.Run(c.name, func(t *testing.T) {
			found, err := Import([]byte(c.text), "")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 {
				t.Fatalf("%d runs found, want 1: %+v", len(found), found)
			}
			if found[0].Err != nil {
				t.Fatal(found[0].Err)
			}
			if got := found[0].MessageBytes; got != c.bytes {
				t.Errorf("%d B, want %d", got, c.bytes)
			}
			got := map[string]float64{}
			for _, m := range found[0].Metrics {
				got[metricKey(m)] = m.Value
			}
			for key, want := range c.want {
				if value, ok := got[key]; !ok || value < want-1e-12 || value > want+1e-12 {
					t.Errorf("%s = %v (there: %v), want %v", key, value, ok, want)
				}
			}
			both, err := Import([]byte(iputilsPing+c.text), "")
			if err != nil || len(both) != 2 {
				t.Errorf("behind another run: %d runs, %v", len(both), err)
			}
		})
	}
}

const iputilsPing = "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n64 bytes from 10.0.0.9: icmp_seq=1 ttl=64 time=0.2 ms\n\n" +
	"--- 10.0.0.9 ping statistics ---\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\n" +
	"rtt min/avg/max/mdev = 0.200/0.200/0.200/0.000 ms\n\n"

type localisedPing struct {
	name, text string
	bytes      int
	want       map[string]float64
}

func localisedPings() []localisedPing {
	// Each Windows text has one lost echo of four, and replies of 1 to 3 ms.
	windows := map[string]float64{"sent": 4, "received": 3, "lost": 1, "loss": 0.25,
		"rtt.min": 1e-3, "rtt.max": 3e-3, "rtt.mean": 2e-3}
	var all []localisedPing
	for name, text := range windowsPings() {
		all = append(all, localisedPing{"windows " + name, strings.ReplaceAll(text, "\n", "\r\n"), 32, windows})
	}
	linux := map[string]float64{"sent": 4, "received": 3, "loss": 0.25,
		"rtt.min": 45e-6, "rtt.mean": 60e-6, "rtt.max": 75e-6, "rtt.stddev": 11e-6}
	for name, text := range iputilsPings() {
		all = append(all, localisedPing{"iputils " + name, text, 56, linux})
	}
	return all
}

// windowsPings are made up after the message tables of Windows' ping.
func windowsPings() map[string]string {
	return map[string]string{
		"german": "Ping wird ausgeführt für host2 [10.0.0.2] mit 32 Bytes Daten:\nAntwort von 10.0.0.2: Bytes=32 Zeit=1ms TTL=64\n" +
			"Zeitüberschreitung der Anforderung.\n\nPing-Statistik für 10.0.0.2:\n    Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1\n" +
			"    (25% Verlust),\nCa. Zeitangaben in Millisek.:\n    Minimum = 1ms, Maximum = 3ms, Mittelwert = 2ms\n",
		"french": "Envoi d’une requête 'ping' sur host2 [10.0.0.2] avec 32 octets de données :\n" +
			"Réponse de 10.0.0.2 : octets=32 temps=1 ms TTL=64\nDélai d’attente de la demande dépassé.\n\n" +
			"Statistiques Ping pour 10.0.0.2:\n    Paquets : envoyés = 4, reçus = 3, perdus = 1 (perte 25%),\n" +
			"Durée approximative des boucles en millisecondes :\n    Minimum = 1ms, Maximum = 3ms, Moyenne = 2ms\n",
		"spanish": "Haciendo ping a 10.0.0.2 con 32 bytes de datos:\nRespuesta desde 10.0.0.2: bytes=32 tiempo=1ms TTL=64\n" +
			"Tiempo de espera agotado para esta solicitud.\n\nEstadísticas de ping para 10.0.0.2:\n" +
			"    Paquetes: enviados = 4, recibidos = 3, perdidos = 1\n    (25% perdidos),\n" +
			"Tiempos aproximados de ida y vuelta en milisegundos:\n    Mínimo = 1ms, Máximo = 3ms, Media = 2ms\n",
		"portuguese": "Disparando 10.0.0.2 com 32 bytes de dados:\nResposta de 10.0.0.2: bytes=32 tempo=1ms TTL=64\n" +
			"Esgotado o tempo limite do pedido.\n\nEstatísticas do Ping para 10.0.0.2:\n" +
			"    Pacotes: Enviados = 4, Recebidos = 3, Perdidos = 1 (25% de\n             perda),\n" +
			"Aproximar um número redondo de vezes em milissegundos:\n    Mínimo = 1ms, Máximo = 3ms, Média = 2ms\n",
		"italian": "Esecuzione di Ping 10.0.0.2 con 32 byte di dati:\nRisposta da 10.0.0.2: byte=32 durata=1ms TTL=64\n" +
			"Richiesta scaduta.\n\nStatistiche Ping per 10.0.0.2:\n    Pacchetti: Trasmessi = 4, Ricevuti = 3,\n" +
			"    Persi = 1 (25% persi),\nTempo approssimativo percorsi andata/ritorno in millisecondi:\n" +
			"    Minimo = 1ms, Massimo =  3ms, Medio =  2ms\n",
		"dutch": "Pingen naar 10.0.0.2 met 32 bytes aan gegevens:\nAntwoord van 10.0.0.2: bytes=32 tijd=1 ms TTL=64\n" +
			"Time-out bij opdracht.\n\nPing-statistieken voor 10.0.0.2:\n    Pakketten: verzonden = 4, ontvangen = 3, verloren = 1\n" +
			"    (25% verlies).\nDe gemiddelde tijd voor het uitvoeren van één bewerking in milliseconden:\n" +
			"    Minimum = 1ms, Maximum = 3ms, Gemiddelde = 2ms\n",
		"polish": "Badanie 10.0.0.2 z 32 bajtami danych:\nOdpowiedź z 10.0.0.2: bajtów=32 czas=1ms TTL=64\n" +
			"Upłynął limit czasu żądania.\n\nStatystyka badania ping dla 10.0.0.2:\n" +
			"    Pakiety: Wysłane = 4, Odebrane = 3, Utracone = 1\n             (25% straty),\n" +
			"Szacunkowy czas błądzenia pakietów w millisekundach:\n    Minimum = 1 ms, Maksimum = 3 ms, Czas średni = 2 ms\n",
		"russian": "Обмен пакетами с 10.0.0.2 по с 32 байтами данных:\nОтвет от 10.0.0.2: число байт=32 время=1мс TTL=64\n" +
			"Превышен интервал ожидания для запроса.\n\nСтатистика Ping для 10.0.0.2:\n" +
			"    Пакетов: отправлено = 4, получено = 3, потеряно = 1\n    (25% потерь)\n" +
			"Приблизительное время приема-передачи в мс:\n    Минимальное = 1мсек, Максимальное = 3 мсек, Среднее = 2 мсек\n",
		"ukrainian": "Обмін пакетами з 10.0.0.2 по 32 байт(ів) даних:\nВідповідь від 10.0.0.2: байт=32 час=1мс TTL=64\n\n" +
			"Статистика Ping для 10.0.0.2:\n    Пакетів: надіслано = 4, отримано = 3, втрачено = 1\n    (25% втрат),\n" +
			"Приблизний час передавання й приймання в мс:\n    Мінімум = 1мс, Максимум = 3 мс, Середній = 2 мс\n",
		"swedish": "Skickar ping-signal till 10.0.0.2 med 32 byte data:\nSvar från 10.0.0.2: byte=32 tid=1ms TTL=64\n" +
			"Begäran gjorde timeout.\n\nPing-statistik för 10.0.0.2:\n    Paket: Skickade = 4, mottagna = 3, förlorade = 1 (25 %),\n" +
			"Ungefärlig överföringstid i millisekunder:\n    Lägsta = 1 ms, Högsta = 3 ms, Medel = 2 ms\n",
		"norwegian": "Pinger 10.0.0.2 med 32 byte data:\nSvar fra 10.0.0.2: byte=32 tid=1ms TTL=64\n" +
			"Forespørsel avbrutt på grunn av tidsavbrudd.\n\nPing-statistikk for 10.0.0.2:\n" +
			"    Pakker: Sendt = 4, mottatt = 3, tapt = 1 (25 % tap),\nBeregnet rundturtid i millisekunder:\n" +
			"    Minimum = 1ms, maksimum = 3ms, gjennomsnittlig = 2ms\n",
		"danish": "Pinger 10.0.0.2 med 32 byte data:\nSvar fra 10.0.0.2: byte=32 tid=1ms TTL=64\n\nPing-statistikker for 10.0.0.2:\n" +
			"    Pakker: Sendt = 4, modtaget = 3, tabt = 1 (25% tab),\nBeregnet tid for rundtur i millisekunder:\n" +
			"    Minimum = 1ms, Maksimum = 3ms, Gennemsnitlig = 2ms\n",
		"finnish": "Pinging-isäntä 10.0.0.2, 32 tavua tietoja:\nVastaus isännältä 10.0.0.2: tavuja=32 aika=1ms TTL=64\n\n" +
			"Ping-tilastot 10.0.0.2:\n    Paketit: lähetetty = 4, vastaanotettu = 3, kadonnut = 1\n    (25% kadonnut),\n" +
			"Arvioitu kiertoaika millisekunteina:\n    Pienin = 1ms, Suurin = 3ms, Keskiarvo = 2ms\n",
		"czech": "Příkaz PING na 10.0.0.2 - 32 bajtů dat:\nOdpověď od 10.0.0.2: bajty=32 čas=1ms TTL=64\n" +
			"Vypršel časový limit žádosti.\n\nStatistika ping pro 10.0.0.2:\n" +
			"    Pakety: Odeslané = 4, Přijaté = 3, Ztracené = 1 (ztráta 25%),\n" +
			"Přibližná doba do přijetí odezvy v milisekundách:\n    Minimum = 1ms, Maximum = 3ms, Průměr = 2ms\n",
		"hungarian": "10.0.0.2 pingelése - 32 bájtnyi adattal:\nVálasz 10.0.0.2: bájt=32 idő=1 ms TTL=64\n" +
			"A kérésre nem érkezett válasz a határidőn belül.\n\n10.0.0.2 ping-statisztikája:\n" +
			"    Csomagok: küldött = 4, fogadott = 3, elveszett = 1\n    (25% veszteség),\n" +
			"Oda-vissza út ideje közelítőlegesen, milliszekundumban:\n    minimum = 1ms, maximum = 3ms, átlag = 2ms\n",
		"turkish": "10.0.0.2 'ye 32 bayt veri ile ping atılıyor:\n10.0.0.2 cevabı: bayt=32 süre=1ms TTL=64\nİstek zaman aşımına uğradı.\n\n" +
			"10.0.0.2 için Ping istatistiği:\n    Paket: Giden = 4, Gelen = 3, Kaybolan = 1 (%25 kayıp),\n" +
			"Mili saniye türünden yaklaşık tur süreleri:\n    En Az = 1ms, En Çok = 3ms, Ortalama = 2ms\n",
		"chinese": "正在 Ping 10.0.0.2 具有 32 字节的数据:\n来自 10.0.0.2 的回复: 字节=32 时间=1ms TTL=64\n请求超时。\n\n" +
			"10.0.0.2 的 Ping 统计信息:\n    数据包: 已发送 = 4，已接收 = 3，丢失 = 1 (25% 丢失)，\n" +
			"往返行程的估计时间(以毫秒为单位):\n    最短 = 1ms，最长 = 3ms，平均 = 2ms\n",
		"traditional chinese": "Ping 10.0.0.2 (使用 32 位元組的資料):\n回覆自 10.0.0.2: 位元組=32 時間=1ms TTL=64\n要求等候逾時。\n\n" +
			"10.0.0.2 的 Ping 統計資料:\n    封包: 已傳送 = 4，已收到 = 3, 已遺失 = 1 (25% 遺失)，\n" +
			"大約的來回時間 (毫秒):\n    最小值 = 1ms，最大值 = 3ms，平均 = 2ms\n",
		"japanese": "10.0.0.2 に ping を送信しています 32 バイトのデータ:\n10.0.0.2 からの応答: バイト数 =32 時間 =1ms TTL=64\n" +
			"要求がタイムアウトしました。\n\n10.0.0.2 の ping 統計:\n    パケット数: 送信 = 4、受信 = 3、損失 = 1 (25% の損失)、\n" +
			"ラウンド トリップの概算時間 (ミリ秒):\n    最小 = 1ms、最大 = 3ms、平均 = 2ms\n",
		"korean": "Ping 10.0.0.2 32바이트 데이터 사용:\n10.0.0.2의 응답: 바이트=32 시간=1ms TTL=64\n요청 시간이 만료되었습니다.\n\n" +
			"10.0.0.2에 대한 Ping 통계:\n    패킷: 보냄 = 4, 받음 = 3, 손실 = 1 (25% 손실),\n왕복 시간(밀리초):\n" +
			"    최소 = 1ms, 최대 = 3ms, 평균 = 2ms\n",
		"german over IPv6": "Ping wird ausgeführt für host2 [fe80::1%4] mit 32 Bytes Daten:\nAntwort von fe80::1%4: Zeit=1ms\n" +
			"Antwort von fe80::1%4: Zeit=3ms\n\nPing-Statistik für fe80::1%4:\n    Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1\n" +
			"    (25% Verlust),\nCa. Zeitangaben in Millisek.:\n    Minimum = 1ms, Maximum = 3ms, Mittelwert = 2ms\n",
	}
}

// iputilsPings are made up after the translations of iputils.
func iputilsPings() map[string]string {
	texts := map[string]string{}
	for name, words := range map[string][4]string{
		"german": {"Bytes an Daten.", "64 Bytes von 10.0.0.2: icmp_seq=1 ttl=64 Zeit=0,045 ms",
			"--- 10.0.0.2 Ping-Statistiken ---",
			"4 Pakete übertragen, 3 empfangen, 25% Paketverlust, Zeit 3053ms"},
		"german, partly": {"Bytes an Daten.", "64 Bytes von 10.0.0.2: icmp_seq=1 ttl=64 Zeit=0,045 ms",
			"--- 10.0.0.2 ping-Statistiken ---",
			"4 Pakete übertragen, 3 empfangen, 25% packet loss, time 3053ms"},
		"french": {"octets de données.", "64 octets de 10.0.0.2 : icmp_seq=1 ttl=64 temps=0,045 ms",
			"--- statistiques ping 10.0.0.2 ---",
			"4 paquets transmis, 3 reçus, 25 % paquets perdus, temps 3004 ms"},
		"spanish": {"bytes de datos.", "64 bytes desde 10.0.0.2: icmp_seq=1 ttl=64 tiempo=0,045 ms",
			"--- 10.0.0.2 estadísticas ping ---",
			"4 paquetes transmitidos, 3 recibidos, 25% pérdida de paquete, tiempo 3053ms"},
		"portuguese": {"bytes de dados.", "64 bytes de 10.0.0.2: icmp_seq=1 ttl=64 tempo=0,045 ms",
			"--- 10.0.0.2 estatísticas de ping ---",
			"4 pacotes transmitidos, 3 recebidos, 25% packet loss, time 3053ms"},
		"italian": {"byte di dati.", "64 byte da 10.0.0.2: icmp_seq=1 ttl=64 tempo=0,045 ms",
			"--- statistiche ping per 10.0.0.2 ---",
			"4 pacchetti trasmessi, 3 ricevuti, 25% pacchetti persi, tempo 3053ms"},
		"polish": {"bajtów danych.", "64 bajty z 10.0.0.2: icmp_seq=1 ttl=64 czas=0,045 ms",
			"--- statystyka ping 10.0.0.2 ---",
			"4 pakietów wysłanych, 3 odebranych, 25% utraty pakietów, czas 3053ms"},
		"turkish": {"baytlık veri.", "64 bayt 10.0.0.2'den: icmp_seq=1 ttl=64 süre=0,045 ms",
			"--- 10.0.0.2 ping istatistikleri ---",
			"4 paket gönderildi, 3 alındı, %25 paket kaybı, süre 3053ms"},
		"japanese": {"バイトのデータ", "64 バイト応答 送信元 10.0.0.2: icmp_seq=1 ttl=64 時間=0.045ミリ秒", "--- 10.0.0.2 ping 統計 ---",
			"送信パケット数 4, 受信パケット数 3, 25% packet loss, time 3053ms"},
		"chinese": {"字节的数据。", "64 字节，来自 10.0.0.2: icmp_seq=1 ttl=64 时间=0.045 毫秒", "--- 10.0.0.2 ping 统计 ---",
			"已发送 4 个包， 已接收 3 个包, 25% packet loss, time 3053ms"},
		"korean": {"바이트의 데이터.", "64 바이트 (10.0.0.2에서): icmp_seq=1 ttl=64 시간=0.045 ms", "--- 10.0.0.2 핑 통계 ---",
			"4 패킷이 전송됨, 3 받음, 25% packet loss, time 3053ms"},
	} {
		rtt, unit := "0,045/0,060/0,075/0,011", " ms"
		switch name {
		case "japanese":
			rtt, unit = strings.ReplaceAll(rtt, ",", "."), "ミリ秒"
		case "chinese":
			rtt, unit = strings.ReplaceAll(rtt, ",", "."), " 毫秒"
		}
		texts[name] = fmt.Sprintf("PING 10.0.0.2 (10.0.0.2) 56(84) %s\n%s\n\n%s\n%s\nrtt min/avg/max/mdev = %s%s\n",
			words[0], words[1], words[2], words[3], rtt, unit)
	}
	return texts
}
