# -*- coding: utf-8 -*-
# Prüft, ob die automatische Zusammenfassung einer Schadenmeldung vollständig ist.
from string import Template

from .llm import frage_modell

PRUEFPROMPT = Template("""\
Du arbeitest in der Schadenabteilung einer Kfz-Versicherung.

Schadenmeldung des Kunden:
$schadenmeldung

Zusammenfassung für die Sachbearbeitung:
$zusammenfassung

Enthält die Zusammenfassung alle Angaben aus der Meldung, die für die Regulierung nötig sind
(Datum und Ort, Beteiligte, Kennzeichen, Hergang, Schadenbild, Zeugen, Polizei)? Angaben, die
schon in der Meldung fehlen, darfst du der Zusammenfassung nicht anlasten.

Nenne zuerst, was gegebenenfalls fehlt. Das letzte Wort deiner Antwort ist JA, wenn die
Zusammenfassung vollständig ist, sonst NEIN.
""")


def ist_vollstaendig(schadenmeldung, zusammenfassung):
    antwort = frage_modell(
        PRUEFPROMPT.substitute(
            schadenmeldung=schadenmeldung,
            zusammenfassung=zusammenfassung,
        )
    )
    letztes = antwort.strip().rstrip(".!").split()[-1].upper()
    return letztes == "JA"
